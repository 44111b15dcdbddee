import { createClient } from "@homeport/client";

/** The browser keeps the session in a cookie of the service's origin. */
export const homeport = createClient({ url: "http://localhost:3000", session: "cookie" });
