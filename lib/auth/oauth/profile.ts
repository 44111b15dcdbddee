import { z } from "zod";
import { Email } from "../email";

/** Who a provider says has signed in. `emailVerified`: it vouches that the address is this person's today. */
export type ProvenIdentity = {
  provider: string;
  subject: string;
  email: string | null;
  emailVerified: boolean;
  name: string | null;
  image: string | null;
};

/** PostgreSQL stores neither NUL nor lone surrogates. */
const storable = (text: string) => text.replaceAll("\0", "").toWellFormed().trim();
const Subject = z
  .string()
  .min(1)
  .max(255)
  .refine((subject) => subject === storable(subject));
const Name = z
  .string()
  .transform((name) => [...storable(name)].slice(0, 80).join("") || null)
  .nullish();
const Image = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  .nullish()
  .catch(null);
const OptionalEmail = Email.nullish().catch(null);
/** Apple writes booleans as text. */
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

/** Reads what a provider says of a person: an ID token's claims, or GitHub's user. @throws ZodError */
export function readProfile(provider: string, profile: unknown): ProvenIdentity {
  if (provider === "github") {
    const { id, login, email = null, name, avatar_url = null } = GitHub.parse(profile);
    // The address is there only where GitHub has verified it.
    return {
      provider,
      subject: String(id),
      email,
      emailVerified: email !== null,
      name: name ?? login,
      image: avatar_url,
    };
  }
  const { sub, email = null, email_verified, hd, name = null, picture = null } = OpenId.parse(profile);
  const vouches = provider !== "google" || isGoogleAuthoritative(email, hd);
  return {
    provider,
    subject: sub,
    email,
    emailVerified: email !== null && email_verified && vouches,
    name,
    image: picture,
  };
}

/**
 * Google has once verified every address, but vouches today only for its own and for those of the organisations
 * that it hosts (Google, "Verify the Google ID token on your server side").
 */
function isGoogleAuthoritative(email: string | null, hostedDomain: string | undefined): boolean {
  return email?.endsWith("@gmail.com") === true || hostedDomain !== undefined;
}
