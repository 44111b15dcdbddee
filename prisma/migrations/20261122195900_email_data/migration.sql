-- AlterTable
ALTER TABLE "Account" ADD COLUMN     "locale" TEXT;

-- AlterTable
ALTER TABLE "QueuedEmail" ADD COLUMN     "data" JSONB,
ADD COLUMN     "locale" TEXT;
