-- AlterTable
ALTER TABLE "PushDevice" ADD COLUMN     "appUrl" TEXT;
