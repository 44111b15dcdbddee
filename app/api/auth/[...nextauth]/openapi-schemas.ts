import { z } from "zod";

// The library checks what it takes itself: these say what that is.

export const ProviderParams = z.object({
  provider: z.string().meta({ description: "Its id, as `/api/auth/providers` tells.", examples: ["google"] }),
});
const CallbackUrl = z
  .string()
  .optional()
  .meta({
    description: "Where to go on afterwards: a path, or an address of this service or of a trusted origin.",
    examples: ["/account"],
  });

export const Csrf = z.object({ csrfToken: z.string() }).meta({ id: "Csrf" });
export const NextUrl = z
  .object({ url: z.url() })
  .meta({ id: "NextUrl", description: "Where to go on. `error` in its query says what went wrong." });
export const Session = z
  .object({
    user: z.object({
      id: z.uuid(),
      email: z.string(),
      name: z.string().nullable(),
      image: z.string().nullable(),
    }),
    expires: z.date(),
  })
  .partial()
  .meta({ id: "NextAuthSession", description: "Empty where nobody is signed in." });
export const Providers = z
  .record(
    z.string(),
    z.object({ id: z.string(), name: z.string(), type: z.string(), signinUrl: z.url(), callbackUrl: z.url() }),
  )
  .meta({ id: "Providers", description: "The ways to sign in that are configured, by their ids." });

/** `json` is next-auth's: without it the answer is a redirect. */
export const Form = z.object({
  csrfToken: z.string().meta({ description: "What `/api/auth/csrf` answered, whose cookie has to come along." }),
  callbackUrl: CallbackUrl,
  json: z.literal("true").optional().meta({ description: "Asks for `url` in JSON instead of a redirect." }),
});
export const SignInForm = Form.extend({ email: z.string(), password: z.string() });
