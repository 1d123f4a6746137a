-- A merchant is live or a sandbox, for ever. Its id says which, and so does the id of everything that is checked below: no statement
-- has to read another row to know it.
CREATE TYPE "merchant_mode" AS ENUM ('live', 'sandbox');
ALTER TABLE "merchants" ADD COLUMN "mode" "merchant_mode" NOT NULL DEFAULT 'live';
ALTER TABLE "merchants" ADD CONSTRAINT "merchants_mode_is_in_the_id"
  CHECK ((mode = 'sandbox') = starts_with(id, 'mer_test_')) NOT VALID;
ALTER TABLE "merchants" VALIDATE CONSTRAINT "merchants_mode_is_in_the_id";

CREATE FUNCTION merchants_mode_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'merchant % is % for ever', OLD.id, OLD.mode
    USING ERRCODE = 'integrity_constraint_violation', TABLE = 'merchants', CONSTRAINT = 'merchants_mode_stays';
END
$$;
CREATE TRIGGER merchants_mode_stays BEFORE UPDATE OF id, mode ON merchants
  FOR EACH ROW WHEN (NEW.mode <> OLD.mode OR NEW.id <> OLD.id) EXECUTE FUNCTION merchants_mode_stays();

-- A sandbox has emulated registers and no others; a live merchant has none of them. An emulated one has no address and no link.
ALTER TABLE "devices" ADD CONSTRAINT "devices_of_sandboxes_are_emulated"
  CHECK ((transport = 'emulated') = starts_with(merchant_id, 'mer_test_')
         AND (transport = 'emulated') = starts_with(id, 'dev_test_')
         AND (transport <> 'emulated' OR base_url IS NULL)) NOT VALID;
ALTER TABLE "devices" VALIDATE CONSTRAINT "devices_of_sandboxes_are_emulated";
ALTER TABLE "link_keys" ADD CONSTRAINT "link_keys_of_no_sandbox" CHECK (NOT starts_with(device_id, 'dev_test_')) NOT VALID;
ALTER TABLE "link_keys" VALIDATE CONSTRAINT "link_keys_of_no_sandbox";
ALTER TABLE "link_enrolments" ADD CONSTRAINT "link_enrolments_of_no_sandbox"
  CHECK (NOT starts_with(device_id, 'dev_test_')) NOT VALID;
ALTER TABLE "link_enrolments" VALIDATE CONSTRAINT "link_enrolments_of_no_sandbox";

-- CreateTable
CREATE TABLE "emulated_registers" (
    "device_id" TEXT NOT NULL,
    "terminal_id" TEXT NOT NULL,
    "journal_id" TEXT NOT NULL,
    "state" JSONB NOT NULL DEFAULT '{}',
    "offline_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "emulated_registers_pkey" PRIMARY KEY ("device_id")
);

-- CreateTable
CREATE TABLE "emulated_documents" (
    "device_id" TEXT NOT NULL,
    "seq" BIGINT NOT NULL,
    "key" TEXT,
    "request_hash" TEXT NOT NULL,
    "response" JSONB NOT NULL,
    "ofd_due_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "emulated_documents_pkey" PRIMARY KEY ("device_id","seq")
);

-- CreateTable
CREATE TABLE "emulated_forced" (
    "device_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "times" INTEGER NOT NULL DEFAULT 0,
    "since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "emulated_forced_pkey" PRIMARY KEY ("device_id","key")
);

-- CreateIndex
CREATE UNIQUE INDEX "emulated_registers_terminal_id_key" ON "emulated_registers"("terminal_id");

-- CreateIndex
CREATE UNIQUE INDEX "emulated_documents_one_per_key" ON "emulated_documents"("device_id", "key") WHERE (key IS NOT NULL);

-- CreateIndex
CREATE INDEX "emulated_documents_unsent" ON "emulated_documents"("device_id", "seq") WHERE (ofd_due_at IS NOT NULL);

-- AddForeignKey
ALTER TABLE "emulated_registers" ADD CONSTRAINT "emulated_registers_device_id_fkey" FOREIGN KEY ("device_id") REFERENCES "devices"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "emulated_documents" ADD CONSTRAINT "emulated_documents_device_id_fkey" FOREIGN KEY ("device_id") REFERENCES "emulated_registers"("device_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "emulated_forced" ADD CONSTRAINT "emulated_forced_device_id_fkey" FOREIGN KEY ("device_id") REFERENCES "emulated_registers"("device_id") ON DELETE CASCADE ON UPDATE CASCADE;
