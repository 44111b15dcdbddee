-- AlterTable
ALTER TABLE "Identity" ADD COLUMN     "refreshToken" TEXT;

-- CreateTable
CREATE TABLE "AppleRevocation" (
    "id" UUID NOT NULL,
    "refreshToken" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "createdAt" TIMESTAMPTZ(3) NOT NULL,
    "nextAttemptAt" TIMESTAMPTZ(3) NOT NULL,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "AppleRevocation_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "AppleRevocation_nextAttemptAt_idx" ON "AppleRevocation"("nextAttemptAt");
