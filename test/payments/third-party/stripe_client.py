# Stripe's library for Python against the address given; one JSON object on standard output says what it saw.
import json
import sys

import stripe

base, version, body_file, header, secret = sys.argv[1:]
stripe.api_key = "sk_test_1"
stripe.api_base = base
stripe.api_version = version
stripe.max_network_retries = 0
SUM = 112_000
seen = {}


def refused(call):
    try:
        call()
    except stripe.error.StripeError as error:
        return [type(error).__name__, error.code]
    return None


made = {"amount": SUM, "currency": "uzs", "capture_method": "manual", "payment_method_types": ["card"]}
named = {**made, "metadata": {"our_ref": "python-1"}}
intent = stripe.PaymentIntent.create(**named, idempotency_key="key-1")
seen["same_key"] = stripe.PaymentIntent.create(**named, idempotency_key="key-1").id == intent.id
seen["other_fields"] = refused(lambda: stripe.PaymentIntent.create(**{**named, "amount": 1}, idempotency_key="key-1"))
seen["held"] = stripe.PaymentIntent.confirm(intent.id, payment_method="pm_card_0001").status
seen["captured"] = stripe.PaymentIntent.capture(intent.id, amount_to_capture=SUM).status
seen["cancelled_too_late"] = refused(lambda: stripe.PaymentIntent.cancel(intent.id))
part = stripe.Refund.create(payment_intent=intent.id, amount=1_000, idempotency_key="part-1")
seen["part"] = part.status
seen["same_part"] = stripe.Refund.create(payment_intent=intent.id, amount=1_000, idempotency_key="part-1").id == part.id
seen["too_much"] = refused(lambda: stripe.Refund.create(payment_intent=intent.id, amount=SUM))
shown = stripe.PaymentIntent.retrieve(intent.id, expand=["latest_charge"])
seen["sums"] = [shown.amount_received, shown.latest_charge.amount_refunded]
seen["refunds"] = [refund.amount for refund in stripe.Refund.list(payment_intent=intent.id).auto_paging_iter()]
other = stripe.PaymentIntent.create(**made)
seen["cancelled"] = stripe.PaymentIntent.cancel(other.id).status
seen["unknown"] = refused(lambda: stripe.PaymentIntent.retrieve("pi_none"))

with open(body_file, encoding="utf-8") as file:
    body = file.read()
seen["event"] = stripe.Webhook.construct_event(body, header, secret).type
seen["other_secret"] = refused(lambda: stripe.Webhook.construct_event(body, header, "whsec_other"))
seen["other_body"] = refused(lambda: stripe.Webhook.construct_event(body.replace("112000", "1"), header, secret))
print(json.dumps(seen))
