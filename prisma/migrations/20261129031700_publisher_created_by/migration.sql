-- AlterTable
ALTER TABLE "Publisher" ADD COLUMN     "createdBy" TEXT;
