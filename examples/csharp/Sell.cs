// A sale, its refund, and what to do with errors: mono sell.exe SALE-NUMBER
using System;
using System.Collections.Generic;
using FiscalGatewayExample;

public static class Sell
{
    public static int Main(string[] arguments)
    {
        var number = arguments[0];
        var gateway = new FiscalGateway(Env("GATEWAY_URL"), Env("CLIENT_ID"), Env("CLIENT_SECRET"), Env("KEY_ID"), Env("KEY_SECRET"));
        try
        {
            // The number of the sale in the ERP is its key: after a crash the same call finds the same receipt.
            var receipt = gateway.WaitUntilFinal(gateway.Sell(SaleAt(450000), "sale-" + number), TimeSpan.FromMinutes(1));
            if (receipt.Status != "registered")
            {
                // rejected, cancelled: no document exists. unknown: do not sell it again, a person decides.
                Console.Error.WriteLine("sale {0} is {1}", receipt.Id, receipt.Status);
                return 1;
            }
            Console.WriteLine("sale {0} registered: {1} {2}", receipt.Id, receipt.Fiscal.Sign, receipt.Fiscal.Link);
            var one = new Refund { Lines = new List<RefundLine> { new RefundLine { Line = 1, Qty = 1 } } };
            var refund = gateway.WaitUntilFinal(gateway.Refund(receipt.Id, one, "refund-" + number), TimeSpan.FromMinutes(1));
            Console.WriteLine("refund {0} {1}", refund.Id, refund.Status);
            // A mistake of the caller's comes back with a place in the body for each fault.
            gateway.Sell(SaleAt(-1), "wrong-" + number);
            return 0;
        }
        catch (RefusedException refused)
        {
            Console.WriteLine("refused: {0} {1}", refused.Status, refused.Code);
            foreach (var fault in refused.Errors) Console.WriteLine("  {0} {1}: {2}", fault.Pointer, fault.Code, fault.Detail);
            return 0;
        }
        catch (NoAnswerException error)
        {
            // It may have been sold. Keep the number, and run this again with it later.
            Console.Error.WriteLine("no answer: " + error.Message);
            return 2;
        }
    }

    private static Sale SaleAt(long price)
    {
        return new Sale
        {
            Items = new List<Item> { new Item { Name = Env("PRODUCT_NAME"), Price = price, Qty = 2 } },
            Payment = new Payment { Method = "cash" },
            CashierId = Env("CASHIER_ID"),
        };
    }

    private static string Env(string name)
    {
        return Environment.GetEnvironmentVariable(name);
    }
}
