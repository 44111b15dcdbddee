import { z } from "zod";
import { OPTIONAL_KINDS } from "../notifications";

const NOT_THE_START = "Must not be the start";

const TimeOfDay = z
  .string()
  .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, "Must be a time such as 22:00")
  .describe("Hours and minutes in the time zone of each device.");

/** An end before the start is on the next day. */
const QuietHours = z
  .object({ startsAt: TimeOfDay, endsAt: TimeOfDay })
  .refine(({ startsAt, endsAt }) => startsAt !== endsAt, { path: ["endsAt"], message: NOT_THE_START });

/** What an account wants to be notified of, and when. */
export const Preferences = z.object({
  kinds: z
    .object(Object.fromEntries(OPTIONAL_KINDS.map((kind) => [kind, z.boolean().default(true)])))
    .describe("Whether notifications of each kind are sent. Other kinds, such as `security.new_sign_in`, always are."),
  quietHours: QuietHours.nullable().describe(
    "Notifications are held until the quiet hours end, except those about security. null: no quiet hours.",
  ),
});
export type Preferences = z.infer<typeof Preferences>;

/** Preferences to store. Omitted fields are reset to their defaults. */
export const NewPreferences = z.object({
  kinds: Preferences.shape.kinds.prefault({}),
  quietHours: Preferences.shape.quietHours.default(null),
});

/** The name of a kind's checkbox in a form. */
export const kindField = (kind: string): string => `kind.${kind}`;

/** The same as a form sends it: a checkbox for each kind, and two times or none. */
export const PreferencesForm = z
  .looseObject({ startsAt: TimeOfDay.optional(), endsAt: TimeOfDay.optional() })
  .superRefine(({ startsAt, endsAt }, { addIssue }) => {
    if (startsAt === undefined && endsAt === undefined) return;
    const path = startsAt === undefined ? "startsAt" : "endsAt";
    const isMissing = startsAt === undefined || endsAt === undefined;
    if (isMissing) addIssue({ code: "custom", path: [path], message: "Required" });
    else if (startsAt === endsAt) addIssue({ code: "custom", path: [path], message: NOT_THE_START });
  })
  .transform(({ startsAt, endsAt, ...fields }): Preferences => {
    const kinds = Object.fromEntries(OPTIONAL_KINDS.map((kind) => [kind, fields[kindField(kind)] !== undefined]));
    return { kinds, quietHours: startsAt && endsAt ? { startsAt, endsAt } : null };
  });
