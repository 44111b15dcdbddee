import { z } from "zod";

export const NewBackup = z.strictObject({
  to: z
    .string()
    .trim()
    .min(1)
    .max(1_000)
    .optional()
    .describe(
      "A folder on the service's machine, or `s3://BUCKET/PREFIX`. Only for commands on that machine. Default: `BACKUP_TO`.",
    ),
});
export type NewBackup = z.infer<typeof NewBackup>;

export const Backup = z.object({
  file: z.string().describe("The name of the file, `homeport-TIME.backup`."),
  to: z.string(),
  sizeBytes: z.number().int(),
  isEncrypted: z.boolean(),
  createdAt: z.date().describe("The time of the state that the backup has."),
  seconds: z.number(),
});
export type Backup = z.infer<typeof Backup>;
