-- What its last attempt was answered, to find deliveries by it. Null: none yet, or no answer came.
ALTER TABLE "webhook_deliveries" ADD COLUMN "last_http_status" INTEGER;
