import { z } from "zod";

// next-auth validates its input itself. These schemas describe it.

export const ProviderParams = z.object({
  provider: z.string().meta({ description: "The provider's ID from `/api/auth/providers`.", examples: ["google"] }),
});
const CallbackUrl = z
  .string()
  .optional()
  .meta({
    description: "Where to redirect: a path, or a URL of this service or of a trusted origin.",
    examples: ["/account"],
  });

export const Csrf = z.object({ csrfToken: z.string() }).meta({ id: "Csrf" });
export const NextUrl = z
  .object({ url: z.url() })
  .meta({ id: "NextUrl", description: "The URL to open next. Its `error` parameter names an error." });
export const Session = z
  .object({
    user: z.object({
      id: z.uuid(),
      email: z.string(),
      name: z.string().nullable(),
      image: z.string().nullable(),
      role: z.enum(["user", "support", "admin"]).describe("What the account may do in the console."),
    }),
    expires: z.date(),
  })
  .partial()
  .meta({ id: "NextAuthSession", description: "Empty if nobody is signed in." });
export const Providers = z
  .record(
    z.string(),
    z.object({ id: z.string(), name: z.string(), type: z.string(), signinUrl: z.url(), callbackUrl: z.url() }),
  )
  .meta({ id: "Providers", description: "The enabled sign-in providers by ID." });

export const Form = z.object({
  csrfToken: z.string().meta({ description: "The token from `/api/auth/csrf`. Its cookie is required too." }),
  callbackUrl: CallbackUrl,
  json: z.literal("true").optional().meta({ description: "Returns `url` as JSON instead of a redirect." }),
});
export const SignInForm = Form.extend({ email: z.string(), password: z.string() });
