ALTER TABLE "Session" ADD COLUMN "authenticatedFrom" TEXT;
