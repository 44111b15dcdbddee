-- AlterTable
ALTER TABLE "RolloutSchedule" ADD COLUMN     "isHaltedByYank" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "CatalogChange" (
    "id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "CatalogChange_pkey" PRIMARY KEY ("id")
);
