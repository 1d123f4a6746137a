// A sale, its refund, and what to do with errors: go run ./sell SALE-NUMBER
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"example.com/fiscal-gateway/fiscal"
)

func main() {
	number := os.Args[1]
	err := run(number)
	var refused *fiscal.Refused
	switch {
	case errors.As(err, &refused):
		fmt.Printf("refused: %d %s\n", refused.Status, refused.Code)
		for _, fault := range refused.Errors {
			fmt.Printf("  %s %s: %s\n", fault.Pointer, fault.Code, fault.Detail)
		}
	case err != nil:
		// No answer: it may have been sold. Keep the number, and run this again with it later.
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(number string) error {
	privateKey, err := os.ReadFile(os.Getenv("SIGNING_KEY_FILE"))
	if err != nil {
		return err
	}
	gateway, err := fiscal.New(os.Getenv("GATEWAY_URL"), os.Getenv("CLIENT_ID"), os.Getenv("CLIENT_SECRET"), os.Getenv("KEY_ID"), privateKey)
	if err != nil {
		return err
	}
	// The number of the sale in the ERP is its key: after a crash the same call finds the same receipt.
	receipt, err := final(gateway)(gateway.Sell(saleAt(450_000), "sale-"+number))
	if err != nil {
		return err
	}
	if receipt.Status != "registered" {
		// rejected, cancelled: no document exists. unknown: do not sell it again, a person decides.
		return fmt.Errorf("sale %s is %s", receipt.ID, receipt.Status)
	}
	fmt.Printf("sale %s registered: %s %s\n", receipt.ID, receipt.Fiscal.Sign, receipt.Fiscal.Link)
	one := fiscal.Refund{Lines: []fiscal.RefundLine{{Line: 1, Qty: 1}}}
	refund, err := final(gateway)(gateway.Refund(receipt.ID, one, "refund-"+number))
	if err != nil {
		return err
	}
	fmt.Printf("refund %s %s\n", refund.ID, refund.Status)
	// A mistake of the caller's comes back with a place in the body for each fault.
	_, err = gateway.Sell(saleAt(-1), "wrong-"+number)
	return err
}

func final(gateway *fiscal.Gateway) func(*fiscal.Receipt, error) (*fiscal.Receipt, error) {
	return func(receipt *fiscal.Receipt, err error) (*fiscal.Receipt, error) {
		if err != nil {
			return nil, err
		}
		return gateway.WaitUntilFinal(receipt, time.Minute)
	}
}

func saleAt(price int64) fiscal.Sale {
	return fiscal.Sale{
		Items:     []fiscal.Item{{Name: os.Getenv("PRODUCT_NAME"), Price: price, Qty: 2}},
		Payment:   fiscal.Payment{Method: "cash"},
		CashierID: os.Getenv("CASHIER_ID"),
	}
}
