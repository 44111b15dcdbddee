-- AlterTable
ALTER TABLE "AuthorizationCode" ADD COLUMN     "grantingSessionId" UUID;

-- AlterTable
ALTER TABLE "DeviceCode" ADD COLUMN     "grantingSessionId" UUID,
ADD COLUMN     "operatorRights" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "Session" ADD COLUMN     "operatorRights" BOOLEAN NOT NULL DEFAULT true;
