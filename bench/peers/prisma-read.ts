// node:http and one query for the account's purchases through Homeport's Prisma client.
import { createServer } from "node:http";
import { PrismaClient } from "../../lib/db/generated/client";
import { postgresAdapter } from "../../lib/db/open";

const { ACCOUNT_ID = "", DATABASE_URL = "", PORT } = process.env;
const POOL_SIZE = 10;

const adapter = postgresAdapter(DATABASE_URL, POOL_SIZE, console.error);
const prisma = new PrismaClient({ adapter });

createServer(async (request, response) => {
  if (request.url === "/ready") return response.end();
  const lines = await prisma.purchase.findMany({ where: { accountId: ACCOUNT_ID } });
  const body = JSON.stringify({ lines });
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body);
}).listen(Number(PORT), "127.0.0.1");
