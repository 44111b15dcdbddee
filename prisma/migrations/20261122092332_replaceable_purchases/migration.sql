-- AlterTable
ALTER TABLE "SubscriptionLine" ADD COLUMN     "isReplaceable" BOOLEAN NOT NULL DEFAULT false;

-- A refund used to end access by itself. Now the end is stated: a refund may leave access until the end of the period.
UPDATE "SubscriptionLine" SET "endedAt" = LEAST("endedAt", "currentPeriodEndsAt", "refundedAt") WHERE "refundedAt" IS NOT NULL;
