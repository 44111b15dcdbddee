-- CreateEnum
CREATE TYPE "AccountRole" AS ENUM ('user', 'support', 'admin');

-- AlterTable
ALTER TABLE "Account" ADD COLUMN     "disabledAt" TIMESTAMPTZ(3),
ADD COLUMN     "role" "AccountRole" NOT NULL DEFAULT 'user';

-- AlterTable
ALTER TABLE "AuthorizationCode" ADD COLUMN     "aal" SMALLINT NOT NULL DEFAULT 1,
ADD COLUMN     "amr" TEXT[] DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "authenticatedAt" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "DeviceCode" ADD COLUMN     "aal" SMALLINT NOT NULL DEFAULT 1,
ADD COLUMN     "amr" TEXT[] DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "authenticatedAt" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "Session" ADD COLUMN     "aal" SMALLINT NOT NULL DEFAULT 1,
ADD COLUMN     "amr" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- CreateTable
CREATE TABLE "AuditEvent" (
    "id" UUID NOT NULL,
    "accountId" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "actor" TEXT NOT NULL DEFAULT 'account',
    "network" TEXT,
    "userAgent" TEXT,
    "details" JSONB,

    CONSTRAINT "AuditEvent_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "AuditEvent_accountId_at_idx" ON "AuditEvent"("accountId", "at");

-- CreateIndex
CREATE INDEX "AuditEvent_at_idx" ON "AuditEvent"("at");
