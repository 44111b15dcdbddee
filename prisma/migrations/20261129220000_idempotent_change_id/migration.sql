-- AlterTable
ALTER TABLE "IdempotentRequest" ADD COLUMN     "changeId" UUID;
