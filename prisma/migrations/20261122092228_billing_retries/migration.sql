-- AlterTable
ALTER TABLE "BillingEvent" ADD COLUMN     "attempts" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "nextAttemptAt" TIMESTAMPTZ(3) NOT NULL DEFAULT (now() + '00:02:00'::interval);

-- AlterTable
ALTER TABLE "Session" ADD COLUMN     "billingAskedAt" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "BillingReconcile" (
    "appUserId" TEXT NOT NULL,
    "dueAt" TIMESTAMPTZ(3) NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "BillingReconcile_pkey" PRIMARY KEY ("appUserId")
);

-- CreateTable
CREATE TABLE "BillingApiPause" (
    "provider" TEXT NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "BillingApiPause_pkey" PRIMARY KEY ("provider")
);

-- CreateIndex
CREATE INDEX "BillingReconcile_dueAt_idx" ON "BillingReconcile"("dueAt");

-- CreateIndex
CREATE INDEX "BillingEvent_received_idx" ON "BillingEvent"("nextAttemptAt") WHERE ("state" = 'received');
