-- When money was first taken: what a provider lists by day is compared with it.
ALTER TABLE "payments" ADD COLUMN "captured_at" TIMESTAMPTZ(3);
