-- AlterTable
ALTER TABLE "Purchase" ADD COLUMN     "appTransactionId" TEXT,
ADD COLUMN     "billingPeriodNumber" INTEGER,
ADD COLUMN     "billingPlanType" TEXT,
ADD COLUMN     "commitmentCurrency" TEXT,
ADD COLUMN     "commitmentExpiresAt" TIMESTAMPTZ(3),
ADD COLUMN     "commitmentPrice" DOUBLE PRECISION,
ADD COLUMN     "commitmentWillRenew" BOOLEAN,
ADD COLUMN     "revocationPercentage" INTEGER,
ADD COLUMN     "revocationType" TEXT,
ADD COLUMN     "totalBillingPeriods" INTEGER;

-- CreateIndex
CREATE INDEX "Purchase_app_transaction_idx" ON "Purchase"("appTransactionId") WHERE ("appTransactionId" IS NOT NULL);
