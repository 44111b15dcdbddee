-- AlterEnum
ALTER TYPE "PushEnvironment" ADD VALUE 'web';

-- AlterTable
ALTER TABLE "PushDevice" ADD COLUMN "webPushKeys" JSONB;
