-- AlterTable
ALTER TABLE "Account" ADD COLUMN     "emailProblem" TEXT,
ADD COLUMN     "emailProblemAt" TIMESTAMPTZ(3);
