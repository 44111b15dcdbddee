-- AlterTable
ALTER TABLE "BillingEvent" ADD COLUMN     "transactionId" TEXT,
ADD COLUMN     "transferredFrom" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- AlterTable
ALTER TABLE "SubscriptionLine" ADD COLUMN     "askedAt" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "BillingEvent_transactionId_idx" ON "BillingEvent"("transactionId");

-- CreateIndex
CREATE INDEX "BillingEvent_identity_changes_idx" ON "BillingEvent" USING GIN ("identities") WHERE (type = ANY (ARRAY['TRANSFER'::text, 'SUBSCRIBER_ALIAS'::text, 'PURCHASE_REDEEMED'::text]));
