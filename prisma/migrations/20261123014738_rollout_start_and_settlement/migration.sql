-- AlterTable
ALTER TABLE "RolloutSchedule" ADD COLUMN     "settledAt" TIMESTAMPTZ(3),
ADD COLUMN     "startsAt" TIMESTAMPTZ(3);
