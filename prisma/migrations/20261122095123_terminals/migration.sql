-- CreateEnum
CREATE TYPE "terminal_proof" AS ENUM ('first', 'challenge', 'operator');

-- AlterEnum
ALTER TYPE "device_state" ADD VALUE 'claimed_elsewhere';

-- Shifts are counted by merchant too: a false register must not take the numbers of another merchant's. The merchant is the
-- device's, whichever release writes the row.
ALTER TABLE "shifts" ADD COLUMN     "merchant_id" TEXT;
UPDATE shifts s SET merchant_id = d.merchant_id FROM devices d WHERE d.id = s.device_id;
CREATE FUNCTION shifts_belong_to_the_merchant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.merchant_id := (SELECT merchant_id FROM devices WHERE id = NEW.device_id);
  RETURN NEW;
END
$$;
CREATE TRIGGER shifts_belong_to_the_merchant BEFORE INSERT ON shifts
  FOR EACH ROW EXECUTE FUNCTION shifts_belong_to_the_merchant();
-- Instead of NOT NULL, which would read the whole table while it holds up its writers; the next migration validates it.
ALTER TABLE "shifts" ADD CONSTRAINT "shifts_have_merchant" CHECK (merchant_id IS NOT NULL) NOT VALID;

-- CreateTable
CREATE TABLE "terminals" (
    "terminal_id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "proof" "terminal_proof" NOT NULL DEFAULT 'first',
    "held_since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "contested_at" TIMESTAMPTZ(3),

    CONSTRAINT "terminals_pkey" PRIMARY KEY ("terminal_id")
);

-- CreateTable
CREATE TABLE "terminal_challenges" (
    "device_id" TEXT NOT NULL,
    "terminal_id" TEXT NOT NULL,
    "word" TEXT NOT NULL,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "terminal_challenges_pkey" PRIMARY KEY ("device_id")
);

-- CreateIndex
CREATE INDEX "terminals_merchant_id_idx" ON "terminals"("merchant_id");

-- AddForeignKey
ALTER TABLE "terminals" ADD CONSTRAINT "terminals_merchant_id_fkey" FOREIGN KEY ("merchant_id") REFERENCES "merchants"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- A live device keeps its terminal; else the last deleted one has it, and a module that was replaced belongs to the merchant
-- that saw its last shift. Devices and shifts are read, not receipts: there are thousands of them, not millions.
INSERT INTO terminals (terminal_id, merchant_id)
SELECT DISTINCT ON (terminal_id) terminal_id, merchant_id
  FROM devices WHERE terminal_id IS NOT NULL
 ORDER BY terminal_id, (deleted_at IS NULL) DESC, created_at DESC;
INSERT INTO terminals (terminal_id, merchant_id)
SELECT DISTINCT ON (terminal_id) terminal_id, merchant_id FROM shifts ORDER BY terminal_id, number DESC
ON CONFLICT DO NOTHING;
