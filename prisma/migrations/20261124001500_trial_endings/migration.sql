-- AlterTable
ALTER TABLE "Purchase" ADD COLUMN     "trialEndingNotifiedAt" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "Purchase_trial_idx" ON "Purchase"("currentPeriodEndsAt") WHERE (("periodType" = 'TRIAL'::text) AND ("trialEndingNotifiedAt" IS NULL) AND ("endedAt" IS NULL) AND ("unsubscribedAt" IS NULL));
