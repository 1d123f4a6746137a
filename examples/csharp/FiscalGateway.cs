// A client of the fiscal receipt gateway in one file, without packages: .NET Framework 4.7.2, Mono, .NET.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Security.Cryptography;
using System.Text;
using System.Threading;

namespace FiscalGatewayExample
{
    [DataContract]
    public sealed class Item
    {
        [DataMember(Name = "name")] public string Name;
        /// <summary>Tiyin.</summary>
        [DataMember(Name = "price")] public long Price;
        [DataMember(Name = "qty")] public int Qty;
    }

    [DataContract]
    public sealed class Payment
    {
        [DataMember(Name = "method")] public string Method;
    }

    [DataContract]
    public sealed class Sale
    {
        [DataMember(Name = "items")] public List<Item> Items;
        [DataMember(Name = "payment")] public Payment Payment;
        [DataMember(Name = "cashier_id")] public string CashierId;
    }

    [DataContract]
    public sealed class RefundLine
    {
        [DataMember(Name = "line")] public int Line;
        [DataMember(Name = "qty")] public int Qty;
    }

    [DataContract]
    public sealed class Refund
    {
        [DataMember(Name = "lines")] public List<RefundLine> Lines;
    }

    [DataContract]
    public sealed class Fiscal
    {
        [DataMember(Name = "fiscal_sign")] public string Sign;
        [DataMember(Name = "verification_url")] public string Link;
    }

    /// <summary>What this example reads of a receipt.</summary>
    [DataContract]
    public sealed class Receipt
    {
        [DataMember(Name = "id")] public string Id;
        [DataMember(Name = "status")] public string Status;
        [DataMember(Name = "fiscal")] public Fiscal Fiscal;

        public bool IsPending
        {
            get { return Status == "accepted" || Status == "sending" || Status == "awaiting_payment"; }
        }
    }

    [DataContract]
    public sealed class Fault
    {
        [DataMember(Name = "pointer")] public string Pointer;
        [DataMember(Name = "code")] public string Code;
        [DataMember(Name = "detail")] public string Detail;
    }

    [DataContract]
    public sealed class Problem
    {
        [DataMember(Name = "code")] public string Code;
        [DataMember(Name = "detail")] public string Detail;
        [DataMember(Name = "errors")] public List<Fault> Errors;
    }

    [DataContract]
    public sealed class Token
    {
        [DataMember(Name = "access_token")] public string AccessToken;
        [DataMember(Name = "expires_in")] public int ExpiresIn;
    }

    [DataContract]
    public sealed class Event
    {
        [DataMember(Name = "id")] public string Id;
        [DataMember(Name = "type")] public string Type;
    }

    /// <summary>The gateway's answer is a refusal. Code is for programs; Errors names every fault with its place in the body.</summary>
    public sealed class RefusedException : Exception
    {
        public RefusedException(int status, Problem problem, TimeSpan retryAfter)
            : base(status + " " + problem.Code + ": " + problem.Detail)
        {
            Status = status;
            Code = problem.Code ?? "http_" + status;
            Errors = problem.Errors ?? new List<Fault>();
            RetryAfter = retryAfter;
        }

        public int Status { get; }
        public string Code { get; }
        public List<Fault> Errors { get; }
        public TimeSpan RetryAfter { get; }

        public bool MayBeRepeated
        {
            // A proxy in between may have sent the request twice (nonce_replayed): the key makes the repeat harmless.
            get
            {
                return new[] { 408, 425, 429, 500, 502, 503, 504 }.Contains(Status)
                    || Code == "idempotency_in_progress" || Code == "nonce_replayed";
            }
        }

        /// <summary>It is about who asks, or when, and not about the sale, which may have been made by an attempt before.</summary>
        public bool SaysNothing
        {
            get { return MayBeRepeated || Status == 401 || Status == 403; }
        }
    }

    /// <summary>A sale may have been made: keep its key, and send the same sale with the same key later.</summary>
    public sealed class NoAnswerException : Exception
    {
        public NoAnswerException(string what, Exception cause) : base(what, cause) { }
    }

    /// <summary>Not a webhook of the gateway, or an old one: answer with 400 and do nothing.</summary>
    public sealed class NotOursException : Exception
    {
        public NotOursException(string why) : base(why) { }
    }

    /// <summary>
    /// Shares one access token between its calls; for one thread. Requests are signed with HMAC, because Ed25519 is not part of
    /// .NET; with BouncyCastle or NSec, Ed25519 is signed in the same place.
    /// </summary>
    public sealed class FiscalGateway
    {
        private const int Attempts = 8;
        /// <summary>Who is to wait longer, as for a new day's quota, is asked again later by its caller.</summary>
        private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(10);
        private readonly HttpClient http = new HttpClient { Timeout = TimeSpan.FromSeconds(30) };
        private readonly Random random = new Random();
        private readonly Uri url;
        private readonly string clientId, clientSecret, keyId, keySecret;
        private string token;
        private DateTime tokenUntil;

        public FiscalGateway(string url, string clientId, string clientSecret, string keyId, string keySecret)
        {
            this.url = new Uri(url);
            this.clientId = clientId;
            this.clientSecret = clientSecret;
            this.keyId = keyId;
            this.keySecret = keySecret;
            // A connection that was closed meanwhile must not make the runtime send a signed request again by itself.
            http.DefaultRequestHeaders.ConnectionClose = true;
        }

        /// <summary>The receipt, perhaps still on its way: check its status.</summary>
        public Receipt Sell(Sale sale, string key)
        {
            return Call<Receipt>("POST", "/v1/receipts", Json.Write(sale), key);
        }

        public Receipt Refund(string saleId, Refund refund, string key)
        {
            return Call<Receipt>("POST", "/v1/receipts/" + saleId + "/refunds", Json.Write(refund), key);
        }

        /// <summary>"unknown" ends the waiting too: a person decides what follows.</summary>
        public Receipt WaitUntilFinal(Receipt receipt, TimeSpan limit)
        {
            var deadline = DateTime.UtcNow + limit;
            while (receipt.IsPending && DateTime.UtcNow < deadline)
            {
                Thread.Sleep(random.Next(200, 500));
                receipt = Call<Receipt>("GET", "/v1/receipts/" + receipt.Id, null, null);
            }
            return receipt;
        }

        /// <summary>Repeats what may be repeated: reads, and writes under a key. Every attempt is signed anew.</summary>
        private T Call<T>(string method, string path, byte[] body, string key)
        {
            var mayBeDone = false;
            for (var attempt = 1; ; attempt += 1)
            {
                var pause = TimeSpan.FromMilliseconds(random.Next((int)Math.Min(10000, 250 * Math.Pow(2, attempt))));
                try
                {
                    return Attempt<T>(method, path, body, key);
                }
                catch (RefusedException refused)
                {
                    mayBeDone = mayBeDone || refused.Status == 408 || refused.Status >= 500;
                    var isLast = attempt == Attempts || refused.RetryAfter > LongestPause;
                    if (refused.Code == "invalid_token" && !isLast) token = null;
                    else if (!refused.MayBeRepeated || isLast)
                    {
                        if (key != null && mayBeDone && refused.SaysNothing) throw new NoAnswerException(method + " " + path, refused);
                        throw;
                    }
                    pause += refused.RetryAfter;
                }
                catch (NoAnswerException)
                {
                    // Nothing came back, or half of it. With the key the repeat finds what was done.
                    mayBeDone = true;
                    if (attempt == Attempts) throw;
                }
                Thread.Sleep(pause);
            }
        }

        private T Attempt<T>(string method, string path, byte[] body, string key)
        {
            var headers = new List<KeyValuePair<string, string>>();
            Action<string, string> add = (name, value) => headers.Add(new KeyValuePair<string, string>(name, value));
            add("authorization", "Bearer " + AccessToken());
            if (body != null)
            {
                add("content-type", "application/json");
                using (var sha256 = SHA256.Create())
                    add("content-digest", "sha-256=:" + Convert.ToBase64String(sha256.ComputeHash(body)) + ":");
            }
            if (key != null) add("idempotency-key", key);
            headers.AddRange(Signature(method, path, headers));
            // Without it the gateway waits for the register for ten seconds.
            add("prefer", "respond-async");
            return Json.Read<T>(Send(method, path, headers, body));
        }

        private IEnumerable<KeyValuePair<string, string>> Signature(string method, string path, List<KeyValuePair<string, string>> headers)
        {
            var target = new Uri(url, path);
            var values = new List<KeyValuePair<string, string>>
            {
                new KeyValuePair<string, string>("@method", method),
                new KeyValuePair<string, string>("@authority", target.Authority),
                new KeyValuePair<string, string>("@path", target.AbsolutePath),
                new KeyValuePair<string, string>("@query", target.Query == "" ? "?" : target.Query),
            };
            values.AddRange(headers);
            var created = Now();
            var nonce = new byte[16];
            using (var generator = RandomNumberGenerator.Create()) generator.GetBytes(nonce);
            var parameters = "(" + string.Join(" ", values.Select(one => "\"" + one.Key + "\"")) + ")"
                + ";created=" + created + ";expires=" + (created + 300)
                + ";nonce=\"" + BitConverter.ToString(nonce).Replace("-", "").ToLowerInvariant() + "\""
                + ";keyid=\"" + keyId + "\";alg=\"hmac-sha256\";tag=\"fgw-v1\"";
            values.Add(new KeyValuePair<string, string>("@signature-params", parameters));
            var signatureBase = string.Join("\n", values.Select(one => "\"" + one.Key + "\": " + one.Value));
            using (var hmac = new HMACSHA256(Encoding.ASCII.GetBytes(keySecret)))
            {
                var signature = Convert.ToBase64String(hmac.ComputeHash(Encoding.UTF8.GetBytes(signatureBase)));
                yield return new KeyValuePair<string, string>("signature-input", "fgw=" + parameters);
                yield return new KeyValuePair<string, string>("signature", "fgw=:" + signature + ":");
            }
        }

        private string AccessToken()
        {
            if (token != null && DateTime.UtcNow < tokenUntil) return token;
            var basic = Convert.ToBase64String(Encoding.UTF8.GetBytes(clientId + ":" + clientSecret));
            var headers = new List<KeyValuePair<string, string>>
            {
                new KeyValuePair<string, string>("authorization", "Basic " + basic),
                new KeyValuePair<string, string>("content-type", "application/x-www-form-urlencoded"),
            };
            var form = Encoding.ASCII.GetBytes("grant_type=client_credentials");
            var answer = Json.Read<Token>(Send("POST", "/oauth/token", headers, form));
            token = answer.AccessToken;
            tokenUntil = DateTime.UtcNow.AddSeconds(answer.ExpiresIn * 0.8);
            return token;
        }

        private byte[] Send(string method, string path, IEnumerable<KeyValuePair<string, string>> headers, byte[] body)
        {
            var request = new HttpRequestMessage(new HttpMethod(method), new Uri(url, path));
            if (body != null) request.Content = new ByteArrayContent(body);
            foreach (var header in headers)
            {
                if (header.Key == "content-type") request.Content.Headers.ContentType = MediaTypeHeaderValue.Parse(header.Value);
                else request.Headers.TryAddWithoutValidation(header.Key, header.Value);
            }
            HttpResponseMessage response;
            byte[] answer;
            try
            {
                response = http.SendAsync(request).GetAwaiter().GetResult();
                answer = response.Content.ReadAsByteArrayAsync().GetAwaiter().GetResult();
            }
            catch (Exception error) when (error is HttpRequestException || error is IOException || error is OperationCanceledException)
            {
                throw new NoAnswerException(method + " " + path, error);
            }
            if (response.IsSuccessStatusCode) return answer;
            var retryAfter = response.Headers.RetryAfter;
            throw new RefusedException((int)response.StatusCode, Json.ReadProblem(answer), retryAfter?.Delta ?? TimeSpan.Zero);
        }

        /// <summary>The event, if it is signed with one of the secrets. body: the bytes as they came.</summary>
        public static Event VerifyWebhook(byte[] body, Func<string, string> header, string[] secrets, long tolerance = 300)
        {
            var timestamp = header("webhook-timestamp") ?? "";
            long seconds;
            // Digits alone: the age of what lies far enough in the past cannot be computed.
            if (!long.TryParse(timestamp, NumberStyles.None, CultureInfo.InvariantCulture, out seconds) || Math.Abs(Now() - seconds) > tolerance)
                throw new NotOursException("too old, or from the future");
            var head = Encoding.UTF8.GetBytes(header("webhook-id") + "." + timestamp + ".");
            foreach (var secret in secrets)
            {
                using (var hmac = new HMACSHA256(Convert.FromBase64String(secret.Substring("whsec_".Length))))
                {
                    var expected = "v1," + Convert.ToBase64String(hmac.ComputeHash(head.Concat(body).ToArray()));
                    if ((header("webhook-signature") ?? "").Split(' ').Any(one => IsEqual(one, expected))) return Json.Read<Event>(body);
                }
            }
            throw new NotOursException("no signature fits");
        }

        /// <summary>In constant time.</summary>
        private static bool IsEqual(string left, string right)
        {
            if (left.Length != right.Length) return false;
            var difference = 0;
            for (var at = 0; at < left.Length; at += 1) difference |= left[at] ^ right[at];
            return difference == 0;
        }

        private static long Now()
        {
            return DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        }
    }

    internal static class Json
    {
        public static byte[] Write<T>(T value)
        {
            using (var stream = new MemoryStream())
            {
                new DataContractJsonSerializer(typeof(T)).WriteObject(stream, value);
                return stream.ToArray();
            }
        }

        public static T Read<T>(byte[] text)
        {
            try
            {
                using (var stream = new MemoryStream(text)) return (T)new DataContractJsonSerializer(typeof(T)).ReadObject(stream);
            }
            catch (SerializationException error)
            {
                throw new NoAnswerException("no JSON", error);
            }
        }

        /// <summary>A proxy in between answers with a page of its own.</summary>
        public static Problem ReadProblem(byte[] text)
        {
            try
            {
                return Read<Problem>(text);
            }
            catch (NoAnswerException)
            {
                return new Problem();
            }
        }
    }
}
