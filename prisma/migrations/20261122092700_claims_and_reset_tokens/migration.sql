-- AlterTable
ALTER TABLE "PasswordResetToken" ADD COLUMN     "id" UUID NOT NULL DEFAULT gen_random_uuid();

-- AlterTable
ALTER TABLE "VerificationToken" ADD COLUMN     "name" TEXT;
