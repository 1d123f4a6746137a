ALTER TABLE "shifts" VALIDATE CONSTRAINT "shifts_have_merchant";
