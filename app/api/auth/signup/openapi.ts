import { registering } from "@/app/api/auth/register/openapi";

export const POST = registering("signUp", "Another name of `/api/auth/register`. ");
