import { Cron } from "croner";
import { z } from "zod";
import { httpUrl, text } from "./values";

const NAMED = { hourly: "0 * * * *", daily: "0 3 * * *", weekly: "0 3 * * 1" } as const;
const SCHEDULE_ERROR = "must be hourly, daily, daily 03:00, weekly, or five fields of cron; times are in UTC";
/** A folder, or s3://BUCKET/PREFIX. */
export const folderOrBucket = text.refine(
  (value) => !value.includes("://") || /^s3:\/\/[a-z0-9][a-z0-9._-]{1,61}[a-z0-9](\/[\w!.*'()/-]*)?$/i.test(value),
  "must be a folder or s3://BUCKET/PREFIX",
);

/** When backups are made, as five fields of cron (crontab(5)) in UTC. */
const backupSchedule = text.transform((value, ctx) => {
  const [, hour, minute] = /^daily ([01]?\d|2[0-3]):([0-5]\d)$/.exec(value) ?? [];
  const cron = hour ? `${Number(minute)} ${Number(hour)} * * *` : (NAMED[value as keyof typeof NAMED] ?? value);
  try {
    if (new Cron(cron, { mode: "5-part", timezone: "UTC", paused: true }).nextRun()) return cron;
  } catch {
    // reported below
  }
  ctx.addIssue(SCHEDULE_ERROR);
  return z.NEVER;
});

/** DAILY/WEEKLY/MONTHLY. */
const backupKeep = z
  .string()
  .regex(/^\s*\d{1,4}\s*\/\s*\d{1,4}\s*\/\s*\d{1,4}\s*$/, "must be three numbers: DAILY/WEEKLY/MONTHLY, such as 7/4/6")
  .transform((value) => {
    const [daily = 0, weekly = 0, monthly = 0] = value.split("/").map(Number);
    return { daily, weekly, monthly };
  });

export const backupVariables = {
  BACKUP_TO: folderOrBucket.optional(),
  BACKUP_SCHEDULE: backupSchedule.optional(),
  BACKUP_KEEP: backupKeep.default({ daily: 7, weekly: 4, monthly: 6 }),
  BACKUP_RECIPIENT: text.regex(/^age1[a-z0-9]+$/, "must be an age recipient: age1…").optional(),
  BACKUP_IDENTITY_FILE: text.optional(),
  BACKUP_S3_ENDPOINT: httpUrl.optional(),
  BACKUP_S3_REGION: text.optional(),
  BACKUP_S3_ACCESS_KEY_ID: text.optional(),
  BACKUP_S3_SECRET_ACCESS_KEY: text.optional(),
};
