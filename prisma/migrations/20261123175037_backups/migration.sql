-- CreateTable
CREATE TABLE "Backup" (
    "id" UUID NOT NULL,
    "scheduledFor" TIMESTAMPTZ(3),
    "startedAt" TIMESTAMPTZ(3) NOT NULL,
    "endedAt" TIMESTAMPTZ(3),
    "file" TEXT,
    "sizeBytes" BIGINT,
    "error" TEXT,

    CONSTRAINT "Backup_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "Backup_scheduledFor_key" ON "Backup"("scheduledFor");
