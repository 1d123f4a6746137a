-- AlterTable
ALTER TABLE "oauth_clients" ADD COLUMN     "token_endpoint_auth_methods" TEXT[] DEFAULT ARRAY['client_secret_basic', 'client_secret_post', 'private_key_jwt']::TEXT[];
