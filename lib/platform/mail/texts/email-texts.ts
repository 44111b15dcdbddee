import type { Locale } from "../../locale";
import { de } from "./de";
import { en } from "./en";
import type { EmailTexts } from "./text-types";

/** The texts of all emails, by language. */
export const EMAIL_TEXTS: Record<Locale, EmailTexts> = { en, de };
