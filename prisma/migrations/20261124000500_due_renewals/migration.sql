-- DropIndex
DROP INDEX "BillingEvent_received_idx";

-- AlterTable
ALTER TABLE "BillingEvent" ALTER COLUMN "nextAttemptAt" DROP NOT NULL;

-- Events that have failed before were not retried: they wait for an operator.
UPDATE "BillingEvent" SET "nextAttemptAt" = NULL WHERE state = 'failed';

-- CreateIndex
CREATE INDEX "BillingEvent_retry_idx" ON "BillingEvent"("nextAttemptAt") WHERE (state = ANY (ARRAY['received'::"BillingEventState", 'failed'::"BillingEventState"]));

-- CreateIndex
CREATE INDEX "Purchase_renewing_idx" ON "Purchase"("currentPeriodEndsAt") WHERE (("endedAt" IS NULL) AND ("unsubscribedAt" IS NULL) AND (NOT "isLifetime") AND (environment = 'PRODUCTION'::text));
