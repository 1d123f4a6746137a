-- CreateTable
CREATE TABLE "database_identity" (
    "id" BOOLEAN NOT NULL DEFAULT true,
    "identity" TEXT NOT NULL,
    "noted_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "database_identity_pkey" PRIMARY KEY ("id")
);
