-- An endpoint is one merchant's. Without this the planner takes the two conditions for independent, expects few rows, and sorts all that
-- an endpoint has instead of reading the newest by their index.
CREATE STATISTICS "webhook_deliveries_of_endpoint" (dependencies) ON "endpoint_id", "merchant_id" FROM "webhook_deliveries";
