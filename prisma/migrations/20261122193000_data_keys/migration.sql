-- CreateTable
CREATE TABLE "DataKey" (
    "id" TEXT NOT NULL,
    "purpose" TEXT NOT NULL,
    "wrappedBy" TEXT NOT NULL,
    "wrapped" TEXT NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "DataKey_pkey" PRIMARY KEY ("id")
);
