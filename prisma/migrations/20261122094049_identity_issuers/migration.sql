-- AlterEnum
ALTER TYPE "SecurityEventType" ADD VALUE 'identity_unlinked';
ALTER TYPE "SecurityEventType" ADD VALUE 'account_deleted';

-- An identity linked so far is one of the provider's usual issuer: an instance that had another one set links anew.
ALTER TABLE "Identity" ADD COLUMN "issuer" TEXT;
UPDATE "Identity" SET "issuer" = CASE "provider"
  WHEN 'google' THEN 'https://accounts.google.com'
  WHEN 'apple' THEN 'https://appleid.apple.com'
  ELSE 'https://github.com'
END;
ALTER TABLE "Identity" ALTER COLUMN "issuer" SET NOT NULL;

-- DropIndex
DROP INDEX "Identity_provider_subject_key";

-- CreateIndex
CREATE UNIQUE INDEX "Identity_issuer_subject_key" ON "Identity"("issuer", "subject");
