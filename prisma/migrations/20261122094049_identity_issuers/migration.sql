-- AlterEnum
ALTER TYPE "SecurityEventType" ADD VALUE 'identity_unlinked';
ALTER TYPE "SecurityEventType" ADD VALUE 'account_deleted';

-- Which issuer an identity is of, the configuration knows: it is written when the identity signs in again. The version
-- before links identities without one while it still serves.
ALTER TABLE "Identity" ADD COLUMN "issuer" TEXT;

-- DropIndex
DROP INDEX "Identity_provider_subject_key";

-- CreateIndex
CREATE UNIQUE INDEX "Identity_issuer_subject_key" ON "Identity"("issuer", "subject");
