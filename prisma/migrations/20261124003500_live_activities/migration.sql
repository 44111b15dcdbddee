-- CreateTable
CREATE TABLE "LiveActivity" (
    "deviceId" UUID NOT NULL,
    "activityId" TEXT NOT NULL,
    "attributesType" TEXT NOT NULL,
    "token" TEXT NOT NULL,
    "registeredAt" TIMESTAMPTZ(3) NOT NULL,
    "latestAt" TIMESTAMPTZ(3),

    CONSTRAINT "LiveActivity_pkey" PRIMARY KEY ("deviceId","activityId")
);

-- CreateTable
CREATE TABLE "LiveActivityStartToken" (
    "deviceId" UUID NOT NULL,
    "attributesType" TEXT NOT NULL,
    "token" TEXT NOT NULL,
    "registeredAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "LiveActivityStartToken_pkey" PRIMARY KEY ("deviceId","attributesType")
);

-- AddForeignKey
ALTER TABLE "LiveActivity" ADD CONSTRAINT "LiveActivity_deviceId_fkey" FOREIGN KEY ("deviceId") REFERENCES "PushDevice"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "LiveActivityStartToken" ADD CONSTRAINT "LiveActivityStartToken_deviceId_fkey" FOREIGN KEY ("deviceId") REFERENCES "PushDevice"("id") ON DELETE CASCADE ON UPDATE CASCADE;
