import { z } from "zod";
import { Email } from "../../platform/email";
import { isStorableText, toStorableText } from "../../platform/storable";

/** A provider's user. `emailVerified` if the provider is authoritative for the email's domain. */
export type ProviderProfile = {
  provider: string;
  subject: string;
  email: string | null;
  emailVerified: boolean;
  name: string | null;
  image: string | null;
};

/** A profile with the provider's issuer. Issuer and subject identify a person (OpenID Connect Core 1.0, 5.7). */
export type ProviderIdentity = ProviderProfile & { issuer: string };

const Subject = z
  .string()
  .min(1)
  .max(255)
  .refine((subject) => isStorableText(subject) && subject === subject.trim());
const Name = z
  .string()
  .transform((name) => [...toStorableText(name).trim()].slice(0, 80).join("") || null)
  .nullish();
const Image = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  .nullish()
  .catch(null);
const OptionalEmail = Email.nullish().catch(null);
/** Apple sends booleans as strings. */
const Flag = z.union([z.boolean(), z.enum(["true", "false"]).transform((text) => text === "true")]).catch(false);

/** OpenID Connect Core 1.0, section 5.1; `hd` is Google's. */
const OpenId = z.object({
  sub: Subject,
  email: OptionalEmail,
  email_verified: Flag,
  hd: z.string().min(1).optional().catch(undefined),
  name: Name.catch(null),
  picture: Image,
});
const GitHub = z.object({
  id: z.number().int(),
  login: z.string(),
  email: OptionalEmail,
  name: Name.catch(null),
  avatar_url: Image,
});

/** A name as it is stored: at most 80 characters; null if it is empty. */
export function parseDisplayName(name: string | undefined): string | null {
  return Name.parse(name) ?? null;
}

/** Parses a provider's user: the claims of an ID token, or GitHub's user. @throws ZodError */
export function parseProfile(provider: string, profile: unknown): ProviderProfile {
  if (provider === "github") {
    const { id, login, email = null, name, avatar_url = null } = GitHub.parse(profile);
    return {
      provider,
      subject: String(id),
      email,
      emailVerified: false, // GitHub verified it once, and hosts no mailboxes.
      name: name ?? login,
      image: avatar_url,
    };
  }
  const { sub, email = null, email_verified, hd, name = null, picture = null } = OpenId.parse(profile);
  return {
    provider,
    subject: sub,
    email,
    emailVerified: email !== null && email_verified && isAuthoritative(provider, email, hd),
    name,
    image: picture,
  };
}

/** The domains whose mailboxes a provider hosts. */
const OWN_DOMAINS: Record<string, readonly string[]> = {
  google: ["gmail.com"],
  apple: ["privaterelay.appleid.com", "icloud.com", "me.com", "mac.com"],
};

/**
 * Whether a provider hosts the mailbox of an email, and so knows its current owner. It verified any other email once; a
 * former owner, such as an employee who left, may still sign in with it. Google also hosts the mailboxes of the
 * organization in `hd` (Google, "Verify the Google ID token on your server side").
 */
function isAuthoritative(provider: string, email: string, hostedDomain: string | undefined): boolean {
  const domain = email.slice(email.lastIndexOf("@") + 1);
  return OWN_DOMAINS[provider]?.includes(domain) === true || (provider === "google" && hostedDomain !== undefined);
}
