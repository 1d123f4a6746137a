"""A sale, its refund, and what to do with errors: python3 sell.py SALE-NUMBER"""

import os
import sys

from fiscal_gateway import FiscalGateway, NoAnswer, Refused

number = sys.argv[1]
with open(os.environ["SIGNING_KEY_FILE"], "rb") as file:
    private_key = file.read()
gateway = FiscalGateway(
    os.environ["GATEWAY_URL"], os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"], os.environ["KEY_ID"], private_key
)


def sale_at(price):
    return {
        "items": [{"name": os.environ["PRODUCT_NAME"], "price": price, "qty": 2}],
        "payment": {"method": "cash"},
        "cashier_id": os.environ["CASHIER_ID"],
    }


try:
    # The number of the sale in the ERP is its key: after a crash the same call finds the same receipt.
    receipt = gateway.wait_until_final(gateway.sell(sale_at(450_000), key=f"sale-{number}"))
    if receipt["status"] != "registered":
        # rejected, cancelled: no document exists. unknown: do not sell it again, a person decides.
        sys.exit(f"sale {receipt['id']} is {receipt['status']}: {receipt['rejection']}")
    fiscal = receipt["fiscal"]
    print(f"sale {receipt['id']} registered: {fiscal['fiscal_sign']} {fiscal['verification_url']}")
    refund = gateway.refund(receipt["id"], {"lines": [{"line": 1, "qty": 1}]}, key=f"refund-{number}")
    refund = gateway.wait_until_final(refund)
    print(f"refund {refund['id']} {refund['status']}")
    # A mistake of the caller's comes back with a place in the body for each fault.
    gateway.sell(sale_at(-1), key=f"wrong-{number}")
except Refused as refused:
    print(f"refused: {refused.status} {refused.code}")
    for fault in refused.errors:
        print(f"  {fault['pointer']} {fault['code']}: {fault['detail']}")
except NoAnswer as error:
    # It may have been sold. Keep the number, and run this again with it later.
    print(f"no answer: {error}", file=sys.stderr)
    sys.exit(2)
