-- AlterTable
ALTER TABLE "Account" ADD COLUMN     "consentWithdrawnAt" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "Account_consent_withdrawn_idx" ON "Account"("consentWithdrawnAt") WHERE ("consentWithdrawnAt" IS NOT NULL);
