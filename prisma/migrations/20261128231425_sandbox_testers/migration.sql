-- AlterTable
ALTER TABLE "Account" ADD COLUMN     "sandboxUntil" TIMESTAMPTZ(3);
