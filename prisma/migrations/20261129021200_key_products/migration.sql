-- AlterTable
ALTER TABLE "ApiKey" ADD COLUMN     "products" TEXT[] DEFAULT ARRAY[]::TEXT[];
