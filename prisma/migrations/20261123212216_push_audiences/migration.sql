-- DropIndex
DROP INDEX "PushMessage_operator_idx";

-- AlterTable
ALTER TABLE "PushBroadcast" ADD COLUMN     "audience" JSONB,
ADD COLUMN     "startsAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
ADD COLUMN     "ttlSeconds" INTEGER;

-- CreateIndex
CREATE INDEX "PushMessage_by_operator_idx" ON "PushMessage"("id") WHERE (kind = ANY (ARRAY['custom'::text, 'background'::text, 'app.new_version'::text]));
