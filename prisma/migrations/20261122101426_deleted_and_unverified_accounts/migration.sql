-- DropForeignKey
ALTER TABLE "SecurityEvent" DROP CONSTRAINT "SecurityEvent_accountId_fkey";

-- AlterTable
ALTER TABLE "Account" ADD COLUMN     "unverifiedExpiresAt" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "Account_unverified_expiry_idx" ON "Account"("unverifiedExpiresAt") WHERE ("unverifiedExpiresAt" IS NOT NULL);
