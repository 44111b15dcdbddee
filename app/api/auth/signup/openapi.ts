import { registering } from "@/app/api/auth/register/openapi";

export const POST = registering("signUp", "An alias of `/api/auth/register`. ");
